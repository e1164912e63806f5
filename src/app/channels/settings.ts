import { type Static, type TObject, type TProperties, Type } from 'typebox'
import type { ImageFamilyRules } from '../../domain/catalog/image-rules.ts'
import type { Channel } from '../ports/provider.ts'
import type { SecretResolver } from './secret-source.ts'

/** A family's settings for its entries in the channel file, in addition to those of every entry. */
export interface ChannelSettings {
  /** Members by their names in the file. */
  readonly members: TProperties
  /** Converts them to parts of a channel. `entry` was checked against `members`. */
  readonly read: (entry: object, at: EntryPlace) => OwnSettings
  /** Servers of this wire also answer without a credential, such as one that an operator runs. */
  readonly mayLackCredential?: true
}

/** The parts of a channel that its family sets. */
type OwnSettings = Partial<
  Pick<Channel, 'credentialHeader' | 'largestImageCounts' | 'library' | 'settings'>
>

/** An entry that is being read. */
export interface EntryPlace {
  /** External names of its models. */
  readonly models: readonly string[]
  /** Place in the file, such as `channels[3]`. */
  readonly where: string
  /** Faults found so far; each begins with its place. */
  readonly faults: string[]
  readonly secretOf: SecretResolver
}

/** Settings of channels, with the types of their members. */
export function channelSettings<const Members extends TProperties>(
  members: Members,
  read: (entry: Static<TObject<Members>>, at: EntryPlace) => OwnSettings,
  further: Pick<ChannelSettings, 'mayLackCredential'> = {},
): ChannelSettings {
  // An entry is only read after it was checked against the members.
  return { members, read: read as ChannelSettings['read'], ...further }
}

/** Accounts whose credential may be sent in a header other than their family's usual one. */
export const credentialHeader = {
  credential_header: Type.Optional(Type.String({ pattern: '^[a-z0-9-]{1,64}$' })),
}

/** The settings of a channel. */
export function credentialHeaderOf(entry: {
  readonly credential_header?: string
}): Pick<Channel, 'credentialHeader'> {
  const { credential_header: header } = entry
  return header === undefined ? {} : { credentialHeader: header }
}

/** No request can ask for more images. */
const MAX_IMAGE_COUNT = 15

/** The settings of a channel of image models. */
export function imageChannel(family: ImageFamilyRules): ChannelSettings {
  return channelSettings(
    {
      ...credentialHeader,
      largest_image_counts: Type.Optional(
        Type.Record(Type.String(), Type.Integer({ minimum: 1, maximum: MAX_IMAGE_COUNT })),
      ),
    },
    (entry, { models, where, faults }) => {
      const { largest_image_counts: counts } = entry
      for (const name of Object.keys(counts ?? {}))
        if (!models.includes(name) || !family.models.includes(name))
          faults.push(`${where}.largest_image_counts.${name} is not an image model of the channel`)
      return {
        ...credentialHeaderOf(entry),
        ...(counts === undefined ? {} : { largestImageCounts: counts }),
      }
    },
  )
}
