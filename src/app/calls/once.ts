import type { CallDeps } from './deps.ts'
import { checkMayUse } from './answer-call.ts'
import type { CallInput, Claimed } from './types.ts'

/**
 * Makes a call under its `Idempotency-Key`, where it has one: once, whoever else asks for it. The key
 * is free again when nothing can have been settled.
 *
 * @throws RepeatedAnswer, and DomainError as `CallClaims.take`; what `make` throws
 */
export async function once<Input extends CallInput, Result>(
  { claims }: Pick<CallDeps, 'claims'>,
  input: Input,
  make: (input: Claimed<Input>) => Promise<Result>,
): Promise<Result> {
  const { keyed, principal } = input
  if (keyed === undefined) return make(input)
  // Nobody gets to read an answer of a model that its token may not use.
  checkMayUse(input)
  const claim = await claims.take(principal, keyed)
  keyed.taken(claim)
  try {
    return await make({ ...input, claim })
  } catch (error) {
    await claim.release()
    throw error
  }
}
