"""Fabrics that are no trees, as ibsim reads them."""
import random


def irregular(path, seed, switches=16, degree=3, hosts=4):
    """A connected random graph of switches with hosts at each; the netlist is written to `path`."""
    choice = random.Random(seed)
    cables = {tuple(sorted((i, choice.randrange(i)))) for i in range(1, switches)}
    while len(cables) < switches * degree // 2:
        a, b = choice.sample(range(switches), 2)
        cables.add((min(a, b), max(a, b)))
    ports = {i: 0 for i in range(switches)}
    lines = {i: [] for i in range(switches)}
    for a, b in sorted(cables):
        ports[a], ports[b] = ports[a] + 1, ports[b] + 1
        lines[a].append(f'[{ports[a]}] "S-{b}"[{ports[b]}]')
        lines[b].append(f'[{ports[b]}] "S-{a}"[{ports[a]}]')
    text = ""
    for host in range(switches * hosts):
        at = host // hosts
        ports[at] += 1
        lines[at].append(f'[{ports[at]}] "H-{host}"[1]')
        text += f'Hca 1 "H-{host}"\n[1] "S-{at}"[{ports[at]}]\n\n'
    for i in range(switches):
        text += f'Switch 24 "S-{i}"\n' + "".join(line + "\n" for line in lines[i]) + "\n"
    path.write_text(text)
    return path
