import { useEffect, useRef, useState } from 'preact/hooks';

export interface SelectionOptions {
  /** Names of the buckets. */
  readonly buckets: readonly string[];
  /** Width in px before the first bucket, and of each bucket. */
  readonly left: number;
  readonly slot: number;
  readonly onChoose: ((bucket: number) => void) | undefined;
  readonly onRange: ((first: number, last: number) => void) | undefined;
}

/** The selection: one bucket, or all buckets from where a drag or Shift started. */
export interface Selection {
  readonly from: number;
  readonly at: number;
  readonly isRange: boolean;
}

/** A pointer that moves less than this many px counts as a click. */
const DRAG_PX = 8;

/** Returns the first and last bucket of a selection. */
export function endsOf({ from, at }: Selection): readonly [first: number, last: number] {
  return [Math.min(from, at), Math.max(from, at)];
}

/** Returns the selection after a key press; undefined if the key does not change it. */
export function afterKey(
  selection: Selection | undefined,
  { key, shiftKey }: Pick<KeyboardEvent, 'key' | 'shiftKey'>,
  count: number,
): Selection | undefined {
  const at = selection?.at ?? count - 1;
  const targets: Record<string, number> = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: count - 1 };
  const target = targets[key];
  if (target === undefined || count === 0) {
    return undefined;
  }
  const next = Math.max(0, Math.min(count - 1, target));
  return { from: shiftKey ? (selection?.from ?? at) : next, at: next, isRange: shiftKey };
}

/**
 * Selection in a chart by pointer and keyboard. Arrow keys move between buckets and, with Shift, extend the selection, as a drag
 * does. Enter or the end of a drag confirms a range, Escape cancels it. A click or Enter on one bucket chooses it, Shift and
 * Enter its time range.
 */
export function useChartSelection(options: SelectionOptions) {
  const { buckets, onChoose, onRange } = options;
  const [selection, select] = useState<Selection>();
  const count = buckets.length;
  // the bars have changed
  useEffect(() => select(undefined), [count, buckets[0]]);
  const drag = useDrag(options, select);
  return {
    selection,
    handlers: {
      ...drag,
      onBlur: () => select(undefined),
      onKeyDown(event: KeyboardEvent) {
        const next = afterKey(selection, { key: event.key, shiftKey: event.shiftKey && !!onRange }, count);
        if (next) {
          event.preventDefault();
          select(next);
        } else if (event.key === 'Escape' && selection?.isRange) {
          event.preventDefault();
          select({ ...selection, from: selection.at, isRange: false });
        } else if (event.key === 'Enter' && selection) {
          if (onRange && (selection.isRange || event.shiftKey)) {
            onRange(...endsOf(selection));
          } else {
            onChoose?.(selection.at);
          }
        }
      },
    },
  };
}

function useDrag(options: SelectionOptions, select: (selection: Selection | undefined) => void) {
  const { buckets, onChoose, onRange } = options;
  const pressed = useRef<{ readonly x: number; readonly bucket: number } | undefined>(undefined);
  const wasDragged = useRef(false);
  const pointedAt = (event: MouseEvent): Selection | undefined => {
    const at = bucketAt(event, options);
    if (pressed.current && wasDragged.current) {
      const inside = Math.max(0, Math.min(buckets.length - 1, at));
      return { from: pressed.current.bucket, at: inside, isRange: true };
    }
    return at >= 0 && at < buckets.length ? { from: at, at, isRange: false } : undefined;
  };
  const letGo = () => {
    pressed.current = undefined;
    select(undefined);
  };
  return {
    onPointerDown(event: PointerEvent) {
      wasDragged.current = false;
      const bucket = pointedAt(event)?.at;
      if (onRange && event.button === 0 && bucket !== undefined) {
        pressed.current = { x: event.clientX, bucket };
        (event.currentTarget as Element).setPointerCapture(event.pointerId);
      }
    },
    onPointerMove(event: PointerEvent) {
      if (pressed.current && Math.abs(event.clientX - pressed.current.x) >= DRAG_PX) {
        wasDragged.current = true;
      }
      select(pointedAt(event));
    },
    onPointerUp(event: PointerEvent) {
      const chosen = pointedAt(event);
      pressed.current = undefined;
      if (chosen?.isRange) {
        onRange?.(...endsOf(chosen));
        select(undefined);
      }
    },
    onPointerCancel: letGo,
    onPointerLeave() {
      if (!pressed.current) {
        select(undefined);
      }
    },
    onClick(event: MouseEvent) {
      // the end of a drag is not a click
      const bucket = wasDragged.current ? undefined : pointedAt(event)?.at;
      wasDragged.current = false;
      if (bucket !== undefined) {
        onChoose?.(bucket);
      }
    },
  };
}

function bucketAt({ clientX, currentTarget }: MouseEvent, { left, slot }: SelectionOptions): number {
  const { left: edge } = (currentTarget as Element).getBoundingClientRect();
  return Math.floor((clientX - edge - left) / slot);
}
