"""Why a method does what it does: each answer a finding, a table and a picture."""
