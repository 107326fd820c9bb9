// The command line that does what a view does, to be copied. Arguments are quoted as a POSIX shell reads them.
export function quoted(argument: string): string {
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", `'\\''`)}'`;
}

export function command(...parts: (string | number | false | undefined | null)[]): string {
  return ['railweave', ...parts.filter((part) => part !== false && part !== undefined && part !== null && part !== '')]
    .map((part) => quoted(String(part)))
    .join(' ');
}
