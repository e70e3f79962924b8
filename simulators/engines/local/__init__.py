"""What `TransformersEngine` decodes with; the only modules here that import torch when they are loaded."""
