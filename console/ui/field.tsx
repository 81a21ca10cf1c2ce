import type { ComponentChildren } from 'preact';

export interface FieldProps {
  readonly label: string;
  readonly children: ComponentChildren;
  readonly hint?: ComponentChildren;
  readonly problem?: string | undefined;
}

/** A control with its name above and what to know below. */
export function Field({ label, children, hint, problem }: FieldProps) {
  return (
    <div class="field">
      {/* biome-ignore lint/a11y/noLabelWithoutControl: the control is what is passed in */}
      <label>
        <span class="field-label">{label}</span>
        {children}
      </label>
      {problem === undefined ? null : (
        <p class="field-problem" role="alert">
          {problem}
        </p>
      )}
      {hint === undefined ? null : <p class="field-hint">{hint}</p>}
    </div>
  );
}

export interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  readonly options: readonly (readonly [value: string, text: string])[];
  readonly onChange: (value: string) => void;
  /** The name is for screen readers only; the chosen option says enough. */
  readonly bare?: boolean;
}

/** One of several, by the browser's own menu. */
export function Choice({ label, value, options, onChange, bare = false }: ChoiceProps) {
  const select = (
    <select
      aria-label={bare ? label : undefined}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    >
      {options.map(([option, text]) => (
        <option key={option} value={option}>
          {text}
        </option>
      ))}
    </select>
  );
  return bare ? select : <Field label={label}>{select}</Field>;
}

export interface TabsProps {
  readonly label: string;
  readonly value: string;
  readonly options: readonly (readonly [value: string, text: string, href: string])[];
}

/** Views of one page; each has an address of its own. */
export function Tabs({ label, value, options }: TabsProps) {
  return (
    <nav class="tabs" aria-label={label}>
      {options.map(([option, text, href]) => (
        <a key={option} href={href} aria-current={option === value ? 'page' : undefined}>
          {text}
        </a>
      ))}
    </nav>
  );
}
