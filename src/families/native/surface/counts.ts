import { Type } from 'typebox'
import { memberOrUndefined, optionalObject } from '../../../api/kit/bodies/member-checks.ts'
import { refuse } from '../../../domain/catalog/checks/fields.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import { open } from '../../text/surface/bodies.ts'
import { camelMembers, GenerateBodySchema } from './bodies.ts'

/** Shapes of counting the tokens of a request. */

/** A request whose tokens are counted: its members, or all of them in `generateContentRequest`. */
export const CountBodySchema = Type.Object(
  {
    ...GenerateBodySchema.properties,
    contents: Type.Optional(GenerateBodySchema.properties.contents),
    generateContentRequest: Type.Optional(
      Type.Object({}, { ...open, description: 'A whole request, without further members.' }),
    ),
  },
  {
    named: 'NativeCountRequest',
    ...open,
    examples: [{ contents: [{ parts: [{ text: 'Hello' }] }] }],
    knownExtraFields: '*',
  },
)

export const CountedSchema = Type.Object(
  { totalTokens: Type.Integer({ minimum: 0 }) },
  { ...open, named: 'NativeTokensCount', description: 'Further members are the provider’s.' },
)

const WHOLE = 'generateContentRequest'

/**
 * The request that a count is about. @throws DomainError `invalid_request` for a request of another
 * model, and for members besides a whole request
 */
export function countedRequest(model: string, sent: JsonObject): JsonObject {
  const body = camelMembers(sent, '')
  const whole = optionalObject(body, WHOLE)
  if (whole === undefined) return sent
  const other = Object.keys(body).find((name) => name !== WHOLE && body[name] !== null)
  if (other !== undefined) refuse(other, `\`${other}\` must be a member of \`${WHOLE}\``)
  const named = memberOrUndefined(whole, 'model') ?? model
  if (named !== model && named !== `models/${model}`)
    refuse(`${WHOLE}.model`, `\`${WHOLE}.model\` must be the model in the path`)
  return whole
}
