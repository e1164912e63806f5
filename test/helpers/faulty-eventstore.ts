/**
 * Entry point of the embedded event store whose append path can be faulty, run by tests as a child process: that of
 * the product, with `--fault SPEC` (see the faults) from the start and an IPC message `{"fault": SPEC}` for later, which is
 * answered with itself once it is in effect.
 */

import { SwitchableFaults } from './append-faults.ts'
import { runEventStore } from '../../infra/embedded/eventstore/process.ts'

const args = process.argv.slice(2)
const at = args.indexOf('--fault')
const [, fault = ''] = at === -1 ? [] : args.splice(at, 2)
const faults = new SwitchableFaults()
faults.set(fault)
process.on('message', (message: unknown) => {
  if (typeof message !== 'object' || message === null || !('fault' in message)) return
  faults.set(String(message.fault))
  process.send?.({ fault: message.fault })
})
runEventStore(args, faults)
