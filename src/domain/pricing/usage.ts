import { Type, type Static } from '@sinclair/typebox'

/**
 * What was counted of a result, by unit: a neutral fact of which a family's rules made the
 * settlement. An explicit zero is kept, what was not counted is absent.
 */
export const UsageSchema = Type.Record(
  Type.String(),
  Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
)
export type Usage = Readonly<Static<typeof UsageSchema>>
