import type { ComponentChildren } from 'preact';

export interface PanelProps {
  readonly title?: string;
  /** Beside the title: links and small controls. */
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
  /** Whether to omit the padding around the content: tables have their own. */
  readonly flush?: boolean;
}

/** A bordered box on the page. */
export function Panel({ title, actions, children, flush = false }: PanelProps) {
  return (
    <section class="panel">
      {title === undefined ? null : (
        <header class="panel-head">
          <h2>{title}</h2>
          {actions === undefined ? null : <div class="panel-actions">{actions}</div>}
        </header>
      )}
      <div class={flush ? 'panel-flush' : 'panel-body'}>{children}</div>
    </section>
  );
}

export interface FigureProps {
  readonly label: string;
  readonly children: ComponentChildren;
  readonly note?: ComponentChildren;
}

/** A key figure with its label and a note. */
export function Figure({ label, children, note }: FigureProps) {
  return (
    <div class="figure">
      <dt>{label}</dt>
      <dd class="figure-value">{children}</dd>
      {note === undefined ? null : <dd class="figure-note">{note}</dd>}
    </div>
  );
}
