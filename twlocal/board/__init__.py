"""The board: results of many models → a static site whose every number can be made again from the rows it ships."""
