"""Completions drawn from a policy: samplers behind one interface, each call at its own temperature."""
