import './styles/tokens.css';
import './styles/base.css';
import './styles/controls.css';
import './styles/shell.css';
import './styles/parts.css';
import './styles/tables.css';
import './styles/pages.css';
import './styles/print.css';
import { render } from 'preact';
import { reloadOnceForNewFiles } from './api/new-files.ts';
import { loadSession } from './api/session.ts';
import { loadSettings } from './api/settings.ts';
import { App } from './app.tsx';
import { isOperators } from './lib/location.ts';
import { copyPlainAmounts } from './lib/plain-copy.ts';

reloadOnceForNewFiles();
copyPlainAmounts();

async function start(root: HTMLElement): Promise<void> {
  await loadSettings();
  let problem: unknown;
  if (!isOperators()) {
    await loadSession().catch((error: unknown) => {
      problem = error;
    });
  }
  render(<App problem={problem} />, root);
}

const root = document.getElementById('app');
if (root) {
  void start(root);
}
