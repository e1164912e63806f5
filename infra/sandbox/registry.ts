import { artB } from './art-b/routes.ts'
import { assets } from './assets/routes.ts'
import { audio } from './audio/routes.ts'
import { chat } from './chat/routes.ts'
import { gen } from './gen/routes.ts'
import { image } from './image/routes.ts'
import { messages } from './messages/routes.ts'
import { native } from './native/routes.ts'
import { responses } from './responses/routes.ts'
import { speech } from './speech/routes.ts'
import { videoA } from './video-a/routes.ts'
import { videoB } from './video-b/routes.ts'
import { videoC } from './video-c/routes.ts'
import type { SandboxFamily } from './family.ts'

/** Every simulated upstream. */
export const families: readonly SandboxFamily[] = [
  videoA,
  videoB,
  videoC,
  chat,
  responses,
  native,
  messages,
  image,
  gen,
  artB,
  speech,
  audio,
  assets,
]
