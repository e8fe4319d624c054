method = dict(objective=dict(type='MSEObjective'))
