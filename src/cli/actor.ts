import { userInfo } from 'node:os'
import { UsageError } from './output.ts'

const MAX_ACTOR_LENGTH = 128
/** One line that can be read: no control characters or marks of direction. */
const ACTOR = /^[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+$/u

/**
 * The actor of a command: the named one, else the user of the operating system. @throws
 * CommandError
 */
export function actorOf(named: string | undefined): string {
  const actor = (named ?? systemUser()).trim()
  if (actor.length > MAX_ACTOR_LENGTH || !ACTOR.test(actor))
    throw new UsageError(`--actor must be a name of 1 to ${MAX_ACTOR_LENGTH} characters`)
  return actor
}

/** A process of a container may run as a user that has no name. */
function systemUser(): string {
  try {
    return userInfo().username
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`
  }
}
