import type { ComponentChildren } from 'preact';

export interface FieldProps {
  readonly label: string;
  readonly children: ComponentChildren;
  readonly hint?: ComponentChildren;
  readonly problem?: string | undefined;
}

/** A control with its label above and a hint below. */
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
  /** Shows the label to screen readers only, because the chosen option is clear enough. */
  readonly bare?: boolean;
}

/** A choice of one option, by the browser's own select. */
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

/** Views of one page; each has its own address. */
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
