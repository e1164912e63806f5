import { isLongerThan } from '../../kernel/characters.ts'
import { DomainError } from '../../kernel/errors.ts'

export const MAX_FILENAME_CHARACTERS = 255

/**
 * What a file may be called: one name that every system can show, and none that leads anywhere.
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
  // Control and format characters hide or turn round what is shown; lone surrogates cannot be stored.
  if (/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(filename))
    refuse('must not have characters that cannot be shown')
}
