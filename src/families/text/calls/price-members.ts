import { refuse } from '../../../domain/catalog/checks/fields.ts'
import {
  isServiceTier,
  type PriceMember,
  priceMembersOf,
  serviceTierOf,
} from '../rules/price-members.ts'
import type { ChannelWish } from '../../../app/channels/directory.ts'
import { textSettings } from '../settings.ts'
import type { Unmade } from '../../../app/calls/family.ts'
import type { TextCallInput, TextDeps } from './types.ts'

/** A wish for channels that take what changes the price of a call, and the tier it is priced by. */
export interface PricedWish {
  readonly wish: ChannelWish
  readonly serviceTier: string | undefined
}

/**
 * Binds a call to channels that take its members that change price or model.
 * @throws DomainError `invalid_request`, naming the first that none of them takes
 */
export function wishWithPriceMembers(
  { wire, channels }: TextDeps,
  { family, model, body }: Unmade<TextCallInput>,
  wish: ChannelWish,
): PricedWish {
  const members = priceMembersOf(wire, body)
  if (members.length === 0) return { wish, serviceTier: undefined }
  // Which of two an account would heed is not known: then it is a tier that none offers.
  const serviceTier = members.filter(isServiceTier).length > 1 ? '' : serviceTierOf(body)
  const wishFor = (asked: readonly PriceMember[]): ChannelWish => {
    const names = asked.filter((member) => !isServiceTier(member)).map(({ name }) => name)
    const tier = asked.some(isServiceTier) ? (serviceTier ?? '') : undefined
    return {
      ...wish,
      suits: (channel) => {
        const { passes = [], serviceTiers = [] } = textSettings(channel)
        return (
          wish.suits?.(channel) !== false &&
          names.every((name) => passes.includes(name)) &&
          (tier === undefined || serviceTiers.includes(tier))
        )
      },
    }
  }
  const whole = wishFor(members)
  if (channels.serving(whole).length > 0) return { wish: whole, serviceTier }
  const refused = members.find((one) => channels.serving(wishFor([one])).length === 0) ?? members[0]
  if (refused === undefined) return { wish: whole, serviceTier }
  const { path } = refused
  if (!isServiceTier(refused))
    return refuse(
      path,
      `\`${path}\` is not taken here: it changes what a call costs or which model answers`,
    )
  const tiers = channels
    .serving({ family, model })
    .flatMap((channel) => textSettings(channel).serviceTiers ?? [])
  return refuse(path, `\`${path}\` must be one of ${['default', ...new Set(tiers)].join(', ')}`)
}
