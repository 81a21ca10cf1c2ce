import { AppError } from '../../lib/errors.ts';

/** Rejects one member of a request. The envelope is fixed, so the message includes the member's path. */
export class FieldError extends AppError {
  /** Path of the member, e.g. `messages[0].content`. */
  readonly field: string;

  constructor(field: string, message: string) {
    super('invalid_parameter', `${field}: ${message}`);
    this.field = field;
  }
}
