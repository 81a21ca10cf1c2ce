/** Every way an engine's file can fail on its way to storage, and whether another run of the same request may succeed. */
const MEDIA_ERRORS = {
  /** Not one of the types we accept, or not the requested kind. */
  media_type_refused: { retryable: false },
  media_too_large: { retryable: false },
  /** Far more pixels than requested: a decompression bomb or a wrong image. */
  media_pixel_limit: { retryable: false },
  /** Broken for every decoder: another run may make a good one, another try with the same file does not. */
  media_corrupt: { retryable: true },
  /** Clearly smaller than the customer requested. */
  media_size_mismatch: { retryable: false },
  /** Clearly shorter than the customer requested. */
  media_length_mismatch: { retryable: false },
  media_too_long: { retryable: false },
  media_tool_missing: { retryable: true },
  media_tool_failed: { retryable: true },
  /** By a signal from outside, e.g. for lack of memory: this says nothing about the file. */
  media_tool_killed: { retryable: true },
  media_tool_timeout: { retryable: true },
  media_tool_stalled: { retryable: true },
} as const;

export type MediaErrorCode = keyof typeof MEDIA_ERRORS;
export const MEDIA_CORRUPT = 'media_corrupt' satisfies MediaErrorCode;

/** A rejection or failure in post-processing. The message contains no path and nothing of the prompt. */
export class MediaError extends Error {
  override readonly name = 'MediaError';
  readonly code: MediaErrorCode;
  readonly retryable: boolean;

  constructor(code: MediaErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
    this.retryable = MEDIA_ERRORS[code].retryable;
  }
}
