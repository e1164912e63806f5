/** A file does not verify; the message says why in words, and is all that a person needs. */
export class NotVerifiedError extends Error {
  override readonly name = 'NotVerifiedError'
}

/** @throws NotVerifiedError with this message unless something holds */
export function requireThat(holds: boolean, message: string): asserts holds {
  if (!holds) throw new NotVerifiedError(message)
}

/** Does something; a failure to verify names this place first. */
export function within<T>(place: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof NotVerifiedError)) throw error
    throw new NotVerifiedError(`${place}: ${error.message}`)
  }
}

const MAX_SHOWN_CHARACTERS = 80

/** A text of a file as a message shows it: on one line, cut, and without what a terminal would obey. */
export function shownText(text: string): string {
  const cut = text.length > MAX_SHOWN_CHARACTERS
  return `${text
    .slice(0, MAX_SHOWN_CHARACTERS)
    .replace(
      /[\p{C}\p{Zl}\p{Zp}]/gu,
      (one) => `\\u{${one.codePointAt(0)?.toString(16)}}`,
    )}${cut ? '…' : ''}`
}
