import type { CallWitness } from '../calls/witness.ts'
import type { Call } from '../caller.ts'
import type { Check } from '../reach.ts'
import { SPEAK } from './orders.ts'
import { RETRIEVE } from './traffic.ts'

/** Whether every sample that was taken is found, and every voice that was cloned speaks. */
export function speechChecks(call: Call, { samples, voices }: CallWitness): readonly Check[] {
  const ofSamples = [...samples].map((id): Check => async () => {
    const answer = await call('reach', 'GET', `${RETRIEVE}?file_id=${id}`)
    const message = `answered ${answer?.status}`
    return answer?.status === 200 ? undefined : { code: 'file_lost', subject: id, message }
  })
  const ofVoices = [...voices].map((voice): Check => async () => {
    const body = { model: 'speech-2.8-hd', text: 'a boat', voice_id: voice }
    const answer = await call('reach', 'POST', SPEAK, { body })
    const message = `answered ${answer?.status}: ${answer?.text.slice(0, 200)}`
    return answer?.status === 200 ? undefined : { code: 'voice_lost', subject: voice, message }
  })
  return [...ofSamples, ...ofVoices]
}
