import { AppError } from '../../lib/errors.ts';

/** Rejects one member of a request. The envelope has no place for the member's path, so the message includes it. */
export class FieldError extends AppError {
  /** Path of the member, e.g. `messages[0].content`. */
  readonly field: string;

  constructor(field: string, message: string) {
    super('invalid_parameter', `${field}: ${message}`);
    this.field = field;
  }
}
