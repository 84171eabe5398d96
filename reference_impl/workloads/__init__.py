"""Things to put under test: each module's ``WORKLOAD`` pairs the ops with inputs, a truth and a budget.

They satisfy the harness's protocols by shape alone and import nothing of it.
"""
