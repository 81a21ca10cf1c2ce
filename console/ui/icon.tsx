/** Own icons with 1.5 px strokes on a 20 px grid, by name. */
const PATHS = {
  overview: 'M3 11l7-7 7 7M5 9.5V17h10V9.5',
  playground: 'M4 4h12v9H9l-4 3v-3H4z',
  tasks: 'M3.5 4h13v12h-13zM3.5 12l3.5-3 3 2.5 3-3.5 3.5 4',
  generations: 'M4 5h12M4 10h12M4 15h8',
  usage: 'M4 16V9M8 16V5M12 16v-5M16 16V7',
  models: 'M10 3.500l7 3.500-7 3.500-7-3.500zM3 10l7 3.500 7-3.500M3 13l7 3.500 7-3.500',
  keys: 'M8 11.5a3.5 3.5 0 1 1 1.2-1L16.5 17M13.5 14l1.5-1.5',
  billing: 'M3.5 5h13v10h-13zM3.5 8.5h13M6 12.5h3',
  start: 'M6 4l9 6-9 6z',
  account: 'M10 10a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM4 17c.6-3 3-4.5 6-4.5s5.4 1.500 6 4.500',
  members:
    'M8 10a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5zM3 16c.500-2.500 2.500-3.800 5-3.800s4.500 1.300 5 3.800M13 5.200a2.500 2.500 0 0 1 0 4.700M14.500 12.600c1.500.600 2.300 1.800 2.500 3.400',
  close: 'M5 5l10 10M15 5L5 15',
  copy: 'M7 7V4h9v9h-3M4 7h9v9H4z',
  check: 'M4 10.500l4 4 8-9',
  chevron: 'M7 4l6 6-6 6',
  more: 'M4 10h.01M10 10h.01M16 10h.01',
  plus: 'M10 4v12M4 10h12',
  stop: 'M5.500 5.500h9v9h-9z',
  download: 'M10 3.500v9M6 9l4 4 4-4M4 16.500h12',
  external: 'M8 4.500H4v11.500h11.500V12M11 4h5v5M16 4l-7 7',
  search: 'M9 14A5 5 0 1 0 9 4a5 5 0 0 0 0 10zM12.700 12.700L17 17',
  fleet: 'M3.500 4h13v5h-13zM3.500 11.500h13v5h-13zM6 6.500h.01M6 14h.01',
  command: 'M4 5.500l4.500 4.500L4 14.500M10.500 14.500H16',
  audit: 'M5 3.500h10v13H5zM7.500 7h5M7.500 10h5M7.500 13h3',
} as const;

export type IconName = keyof typeof PATHS;

/** An icon beside a word; hidden from screen readers. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 20 20" width="18" height="18" aria-hidden="true" focusable="false">
      <path
        d={PATHS[name]}
        fill="none"
        stroke="currentColor"
        stroke-width="1.5"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  );
}
