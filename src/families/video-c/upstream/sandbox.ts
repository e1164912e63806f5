import type { SandboxAccount } from '../../../app/ports.ts'
import { videoCModels } from '../rules/models.ts'

/** The sandbox as this family's upstream, which has names of its own for the models. */
export const videoCSandbox: SandboxAccount = {
  id: 'sandbox-video-c',
  family: 'video-c',
  region: 'overseas',
  path: '',
  models: Object.fromEntries(videoCModels.map(({ name }) => [name, name.replace(/^clip/, 'reel')])),
}
