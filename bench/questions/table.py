"""Tables in Markdown."""


def show(titles, rows):
    print("| " + " | ".join(titles) + " |")
    print("|" + "|".join("---" for _ in titles) + "|")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()
