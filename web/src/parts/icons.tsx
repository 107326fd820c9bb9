// The console's own icons, 16 by 16, drawn with one stroke.
import type { ReactNode } from 'react';

const shapes: Record<string, ReactNode> = {
  overview: <path d="M2 9h4l2-6 2 10 2-4h2" />,
  fabric: <><circle cx="8" cy="3" r="1.6" /><circle cx="3" cy="13" r="1.6" /><circle cx="13" cy="13" r="1.6" /><path d="M7.3 4.5 3.7 11.5M8.7 4.5l3.6 7M4.7 13h6.6" /></>,
  path: <><circle cx="3" cy="13" r="1.6" /><circle cx="13" cy="3" r="1.6" /><path d="M4.6 13H8V3h3.4" /></>,
  jobs: <><rect x="2" y="2" width="5" height="5" rx="1" /><rect x="9" y="2" width="5" height="5" rx="1" /><rect x="2" y="9" width="5" height="5" rx="1" /><rect x="9" y="9" width="5" height="5" rx="1" /></>,
  queue: <path d="M2 4h12M2 8h9M2 12h6" />,
  submit: <path d="M8 13V3M4 7l4-4 4 4M3 14h10" />,
  tenants: <><circle cx="6" cy="5" r="2.4" /><path d="M1.8 13.5c0-2.6 1.8-4.2 4.2-4.2s4.2 1.6 4.2 4.2M10.5 3.2a2.2 2.2 0 0 1 0 4.1M12 9.8c1.4.6 2.2 1.9 2.2 3.7" /></>,
  guarantees: <path d="M8 1.8 13 4v4c0 3-2 5.2-5 6.3C5 13.200 3 11 3 8V4zM5.800 8l1.6 1.600 3-3" />,
  drains: <path d="M8 2v6M5 5.500 8 8.500l3-3M3 10v2.500h10V10" />,
  alarms: <path d="M8 2a4 4 0 0 1 4 4c0 3.500 1.500 5 1.500 5h-11S4 9.500 4 6a4 4 0 0 1 4-4ZM6.500 13.500h3" />,
  events: <path d="M5 4h9M5 8h9M5 12h9M2 4h.01M2 8h.01M2 12h.01" />,
  planning: <path d="M2 14V6l4 3V6l4 3V2h4v12z" />,
  search: <><circle cx="7" cy="7" r="4.500" /><path d="m10.500 10.500 3.500 3.500" /></>,
  copy: <><rect x="5" y="5" width="8" height="9" rx="1.200" /><path d="M10.500 5V2.500h-8V11H5" /></>,
  check: <path d="m3 8.500 3.500 3.500L13 4.500" />,
  sun: <><circle cx="8" cy="8" r="3" /><path d="M8 1v1.500M8 13.500V15M1 8h1.500M13.500 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1" /></>,
  moon: <path d="M13.500 9.500A6 6 0 0 1 6.500 2.500a6 6 0 1 0 7 7Z" />,
  keyboard: <><rect x="1.500" y="4" width="13" height="8" rx="1.200" /><path d="M4 6.500h.01M6.500 6.500h.01M9 6.500h.01M11.500 6.500h.01M4.500 9.500h7" /></>,
  plus: <path d="M8 3v10M3 8h10" />,
  minus: <path d="M3 8h10" />,
  fit: <path d="M2 6V2h4M10 2h4v4M14 10v4h-4M6 14H2v-4" />,
  star: <path d="m8 2 1.900 3.900 4.300.6-3.100 3 .7 4.300L8 11.800l-3.800 2 .7-4.300-3.100-3 4.300-.6z" />,
  up: <path d="M8 13V3M4 7l4-4 4 4" />,
};

export function Icon({ name }: { name: string }) {
  return (
    <svg viewBox="0 0 16 16" fill="none" stroke="currentColor" strokeWidth="1.4" strokeLinecap="round" strokeLinejoin="round" aria-hidden="true">
      {shapes[name]}
    </svg>
  );
}
