"""Chaos: the whole system under a seeded script of misfortunes, and an auditor who then checks every promise.

weather    the script: which misfortune comes when      trouble    lets it happen
stage      what it happens to: Postgres, Azurite, the provider, two supervised hosts
customers, operators, strangers, receiver               the people outside, who note all they hear in the ledger
calm       waits until everything has come to rest      witness    triggers that note every change of a row
evidence   reads the snapshot                           auditor    from the snapshot to the violations
run        one run of all this                          planted    what the auditor is tested with
"""
