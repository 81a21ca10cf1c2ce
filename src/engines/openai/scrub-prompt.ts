const TAG = /<\s*\/?\s*sd_cpp_extra_args\s*>/gi;

/**
 * The prompt without the tag by which sd-server takes generation parameters out of a prompt (stable-diffusion.cpp
 * examples/server/api.md, `sd_cpp_extra_args`): a customer must not choose steps or batch sizes nobody pays for. What stood
 * inside stays as text.
 */
export function scrubPrompt(prompt: string): string {
  let text = prompt;
  for (;;) {
    const cleaned = text.replace(TAG, '');
    if (cleaned === text) {
      return text;
    }
    // Taking a tag out may put another one together.
    text = cleaned;
  }
}
