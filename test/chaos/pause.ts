/** Waits for the length of a fault or a load, in ms. Never use it to wait for a condition. */
export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
