import type { SandboxAccount } from '../../../app/ports.ts'

/** The sandbox as this family's upstream. */
export const speechSandbox: SandboxAccount = {
  id: 'sandbox-speech',
  family: 'speech',
  region: 'overseas',
  path: '/speech',
  models: {
    'speech-2.8-hd': 'voicer-2.8-hd',
    'speech-2.8-turbo': 'voicer-2.8-turbo',
    'speech-2.6-hd': 'voicer-2.6-hd',
    'voice-clone': 'voice-clone',
  },
}
