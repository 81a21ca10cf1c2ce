export type Step = {
  /** Shows what the step is currently doing. */
  update: (text: string) => void;
  done: (text: string) => void;
  fail: () => void;
};

export type Terminal = {
  step: (label: string) => Step;
  /** Prints permanent lines unchanged. */
  print: (...lines: string[]) => void;
  warn: (text: string) => void;
  failure: (text: string) => void;
  dim: (text: string) => string;
  bold: (text: string) => string;
  /** Removes animated lines; must be the last call. */
  close: () => void;
};

export type TerminalStream = {
  write: (text: string) => unknown;
  isTTY?: boolean | undefined;
  columns?: number;
};

const LABEL_WIDTH = 11;
const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const FRAME_MS = 100;

/**
 * Shows progress for people, one line per step. On a terminal the running steps are animated at the bottom; elsewhere (a file, a
 * pipe) each change is one plain line. `color` enables colors.
 */
export function createTerminal(stream: TerminalStream, color: boolean): Terminal {
  const interactive = stream.isTTY === true;
  const paint = (code: number) => (text: string) => (color ? `\u001b[${code}m${text}\u001b[0m` : text);
  const [green, red, yellow, dim, bold] = [paint(32), paint(31), paint(33), paint(2), paint(1)];
  const running = new Map<symbol, { label: string; text: string }>();
  let drawn = 0;
  let frame = 0;
  let timer: NodeJS.Timeout | undefined;

  const clear = () => (drawn > 0 ? `\u001b[${drawn}A\u001b[0J` : '');
  const draw = (permanent: string) => {
    const width = (stream.columns ?? 80) - 1;
    const lines = [...running.values()].map(({ label, text }) => {
      const plain = `${label.padEnd(LABEL_WIDTH)}${text}`.slice(0, Math.max(width - 4, 10));
      return `  ${dim(FRAMES[frame % FRAMES.length] ?? '·')} ${plain}\n`;
    });
    stream.write(`${clear()}${permanent}${lines.join('')}`);
    drawn = lines.length;
  };
  const emit = (permanent: string) => (interactive ? draw(permanent) : stream.write(permanent));
  const animate = () => {
    if (!interactive || running.size === 0) {
      clearInterval(timer);
      timer = undefined;
    } else if (timer === undefined) {
      timer = setInterval(() => {
        frame += 1;
        draw('');
      }, FRAME_MS);
      timer.unref();
    }
  };
  const line = (mark: string, label: string, text: string) =>
    `  ${mark} ${label.padEnd(LABEL_WIDTH)}${dim(text)}\n`;

  return {
    step: (label) => {
      const id = Symbol(label);
      running.set(id, { label, text: '' });
      animate();
      const end = (permanent: string) => {
        if (running.delete(id)) {
          emit(permanent);
          animate();
        }
      };
      return {
        update: (text) => {
          const entry = running.get(id);
          if (entry !== undefined && entry.text !== text) {
            entry.text = text;
            emit(interactive ? '' : line('·', label, text));
          }
        },
        done: (text) => end(line(green('✓'), label, text)),
        fail: () => end(line(red('✗'), label, 'failed')),
      };
    },
    print: (...lines) => emit(lines.map((text) => `${text}\n`).join('')),
    warn: (text) => emit(`  ${yellow('!')} ${text}\n`),
    failure: (text) => emit(`\n  ${red('✗')} ${bold(text)}\n\n`),
    dim,
    bold,
    close: () => {
      running.clear();
      animate();
      emit('');
    },
  };
}
