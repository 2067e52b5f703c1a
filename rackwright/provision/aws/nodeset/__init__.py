"""Slots of one pool, filled by EC2 instances: plain functions over boto3, without any engine.

The provider, Slurm's resume and suspend programs and `node replace` call the same ones.
"""
