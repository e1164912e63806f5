import type { ChannelFamilies } from '../app/channels/load.ts'
import { artB } from './art-b/module.ts'
import { audio } from './audio/module.ts'
import { chat } from './chat/module.ts'
import { gen } from './gen/module.ts'
import { image } from './image/module.ts'
import { catalogOf, channelSettingsOf, type FamilyModule } from './module.ts'
import { messages } from './messages/module.ts'
import { native } from './native/module.ts'
import { responses } from './responses/module.ts'
import { speech } from './speech/module.ts'
import { videoA } from './video-a/module.ts'
import { videoB } from './video-b/module.ts'
import { videoC } from './video-c/module.ts'

/** Every provider family. A family that is no longer offered stays: its events need its rules. */
export const families: readonly FamilyModule[] = [
  videoA,
  videoB,
  videoC,
  speech,
  audio,
  image,
  gen,
  artB,
  chat,
  responses,
  native,
  messages,
]

export const catalog = catalogOf(families)

/** Readers of the families' entries in a channel file. */
export const channelFamilies: ChannelFamilies = { catalog, settings: channelSettingsOf(families) }
