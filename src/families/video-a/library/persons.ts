import { refuse } from '../../../domain/families/checks/fields.ts'
import { given } from '../../../api/kit/member-checks.ts'
import { publicUrl } from '../../../api/kit/public-url.ts'
import { placingOf, type RunAction } from './call.ts'
import { lacking, requiredText } from './checks.ts'

/** Verification of real persons. What these actions speak of is never kept and never logged. */

/** Of a one-time credential. */
const MAX_CREDENTIAL_CHARACTERS = 4_096

export const createVisualValidateSession: RunAction = async (call, { assets, resolveHost }) => {
  const { placing } = placingOf(call)
  const address = given(call.body, 'CallbackURL') ?? lacking('CallbackURL')
  if (typeof address !== 'string') return refuse('CallbackURL', '`CallbackURL` must be a string')
  const callbackUrl = await publicUrl(address, 'CallbackURL', resolveHost)
  const { credential, link } = await assets.startVerification({ ...placing, callbackUrl })
  return { ProviderToken: credential, H5Link: link, CallbackURL: callbackUrl }
}

export const getVisualValidateResult: RunAction = async (call, { assets }) => {
  const { placing } = placingOf(call)
  const credential = requiredText(call.body, 'ProviderToken', MAX_CREDENTIAL_CHARACTERS)
  const { groupId } = await assets.verificationResult({ ...placing, credential })
  // Empty while the person is not verified yet.
  return { GroupId: groupId ?? '' }
}
