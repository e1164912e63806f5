import { Type, type Static } from '@sinclair/typebox'

/**
 * Counted usage of a result, by unit: the fact from which a family's rules computed the settlement.
 * An explicit zero is kept; a unit that was not counted is absent.
 */
export const UsageSchema = Type.Record(
  Type.String(),
  Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
)
export type Usage = Readonly<Static<typeof UsageSchema>>
