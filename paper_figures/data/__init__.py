"""What figures are drawn from: results of the other rooms, training curves, numbers printed in papers."""
