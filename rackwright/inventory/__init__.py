"""Stage 6: plan and what the hosts printed in, an `Inventory` that Ansible and ssh can use out."""
