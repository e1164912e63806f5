import { isLongerThan } from '../../kernel/characters.ts'
import { DomainError } from '../../kernel/errors.ts'

export const MAX_FILENAME_CHARACTERS = 255

/**
 * Checks the name of a file: every system must be able to show it, and it must not be a path.
 *
 * @throws DomainError `invalid_request` naming `param`
 */
export function checkFilename(filename: string, param: string): void {
  const refuse = (why: string): never => {
    throw new DomainError('invalid_request', `The name of \`${param}\` ${why}`, { param })
  }
  if (filename === '') refuse('is missing')
  if (isLongerThan(filename, MAX_FILENAME_CHARACTERS))
    refuse(`must have at most ${MAX_FILENAME_CHARACTERS} characters`)
  if (/[/\\]/.test(filename) || /^\.{1,2}$/.test(filename)) refuse('must not be a path')
  // Control and format characters hide or reverse the displayed name; lone surrogates cannot be
  // stored.
  if (/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(filename))
    refuse('must not have control or format characters')
}
