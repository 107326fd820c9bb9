// Links are known by the GUIDs of their ports; people know devices by names.

// "leaf-3/1--spine-2/4" for "<guid>/1--<guid>/4": ends whose device is not known keep their GUID.
export function linkNamed(id: string, devices: ReadonlyMap<string, string>): string {
  return id
    .split('--')
    .map((end) => {
      const slash = end.lastIndexOf('/');
      const name = devices.get(end.slice(0, slash).toLowerCase());
      return slash > 0 && name ? `${name}${end.slice(slash)}` : end;
    })
    .join('--');
}
