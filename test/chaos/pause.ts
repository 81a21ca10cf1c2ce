/** Waits so many milliseconds: the length of a fault or of a load, never for something to become true. */
export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
