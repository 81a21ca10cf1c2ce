import { useEffect, useState } from 'preact/hooks';

/** A value that lives outside the components; those that use it are drawn anew when it changes. */
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

  /** A hook: the value now and, by drawing again, every later one. */
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
