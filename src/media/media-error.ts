/** Every way a file of an engine can fail on its way to storage, and whether another run of the same request may pass. */
const MEDIA_ERRORS = {
  /** Not one of the types we take, or not the kind that was asked for. */
  media_type_refused: { retryable: false },
  media_too_large: { retryable: false },
  /** More pixels than the request explains: a decompression bomb or another picture. */
  media_pixel_limit: { retryable: false },
  media_corrupt: { retryable: true },
  /** Clearly smaller than the customer asked for. */
  media_size_mismatch: { retryable: false },
  media_too_long: { retryable: false },
  media_tool_missing: { retryable: true },
  media_tool_failed: { retryable: true },
  media_tool_timeout: { retryable: true },
  media_tool_stalled: { retryable: true },
} as const;

export type MediaErrorCode = keyof typeof MEDIA_ERRORS;

/** A refusal or failure of post-processing. The message holds no path and nothing of the prompt. */
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
