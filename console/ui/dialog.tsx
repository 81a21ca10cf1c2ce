import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import type { Acting } from '../api/action.ts';
import { t } from '../lib/text.ts';
import { Problem } from './feedback.tsx';
import { Icon } from './icon.tsx';

export interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
  /** `sheet`: at the side, for the details of a row. */
  readonly kind?: 'dialog' | 'sheet';
  /** Element that gets the initial focus; defaults to the first focusable one. */
  readonly first?: { readonly current: HTMLElement | null };
  /** Whether it can be closed only by its own buttons. */
  readonly mustAnswer?: boolean;
}

/** A native modal dialog: focus stays inside, Escape closes, and focus goes back to where it was. */
export function Dialog({
  title,
  onClose,
  children,
  kind = 'dialog',
  first,
  mustAnswer = false,
}: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    const dialog = ref.current;
    const before = document.activeElement;
    dialog?.showModal();
    first?.current?.focus();
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement) {
        before.focus();
      }
    };
  }, []);
  const cancel = (event: Event) => {
    event.preventDefault();
    // a browser may insist on closing; then `closed` follows
    if (!mustAnswer && event.defaultPrevented) {
      onClose();
    }
  };
  const closed = (event: Event) => {
    if (!(event.currentTarget instanceof HTMLDialogElement && event.currentTarget.isConnected)) {
      return;
    }
    if (mustAnswer) {
      event.currentTarget.showModal();
    } else {
      onClose();
    }
  };
  // prevents most closings beforehand, so that the focus stays where it is
  const keep = (event: KeyboardEvent) => mustAnswer && event.key === 'Escape' && event.preventDefault();
  return (
    <dialog
      ref={ref}
      class={kind}
      aria-labelledby={heading}
      onCancel={cancel}
      onClose={closed}
      onKeyDown={keep}
    >
      <div class="dialog-head">
        <h2 id={heading}>{title}</h2>
        {mustAnswer ? null : (
          <button type="button" class="icon-button" aria-label={t('Close')} onClick={onClose}>
            <Icon name="close" />
          </button>
        )}
      </div>
      <div class="dialog-body">{children}</div>
    </dialog>
  );
}

export interface ConfirmProps {
  readonly title: string;
  /** What will happen, including to the money. */
  readonly text: string;
  /** Label of the confirm button. */
  readonly action: string;
  /** The action that the question is about: its error is shown beneath the question, where the user looks. */
  readonly acting: Pick<Acting<never>, 'isPending' | 'error'>;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}

/** Asks for confirmation of irreversible actions. */
export function Confirm({ title, text, action, acting, onConfirm, onClose }: ConfirmProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <p>{text}</p>
      {acting.error === undefined ? null : <Problem error={acting.error} />}
      <div class="dialog-actions">
        <button type="button" class="button" onClick={onClose}>
          {t('Keep it')}
        </button>
        <button type="button" class="button button-bad" disabled={acting.isPending} onClick={onConfirm}>
          {action}
        </button>
      </div>
    </Dialog>
  );
}
