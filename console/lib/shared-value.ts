import { useEffect, useState } from 'preact/hooks';

/** A value outside the components. Components that use it are re-rendered when it changes. */
export class SharedValue<Value> {
  #value: Value;
  readonly #listeners = new Set<() => void>();

  constructor(value: Value) {
    this.#value = value;
  }

  get value(): Value {
    return this.#value;
  }

  set(value: Value): void {
    this.#value = value;
    for (const listener of this.#listeners) {
      listener();
    }
  }

  /** A hook that returns the current value and re-renders on every change. */
  use(): Value {
    const [, redraw] = useState({});
    useEffect(() => {
      const listener = () => redraw({});
      this.#listeners.add(listener);
      return () => {
        this.#listeners.delete(listener);
      };
    }, []);
    return this.#value;
  }
}
