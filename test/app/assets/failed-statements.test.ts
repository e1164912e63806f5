import t from 'tap'
import { eventually } from '../../helpers/eventually.ts'
import { startWorld } from '../support/world.ts'
import { assetEventsOf, newAsset, newGroup } from './support/library.ts'

const world = await startWorld(t)
const { log } = world

t.test('work whose postponement failed is done soon, long before its lease ends', async (t) => {
  const replica = world.replica({ policies: true })
  await world.pool.query(`
    create function public.refuse() returns trigger language plpgsql as
      $$ begin raise exception 'refused'; end $$;
    create trigger refused before update on ops.asset_work for each row
      when (new.due_at_ms < old.due_at_ms) execute function public.refuse();`)
  const groupId = await newGroup(replica.assets)
  const assetId = await newAsset(replica.assets, groupId, { switches: 'running-ms=1000' })
  const { policyFailures } = replica.deps.metrics
  await eventually('rounds fail', async () => {
    const { values } = await policyFailures.get()
    return values.some(({ labels, value }) => labels.policy === 'assets' && value > 0)
  })
  await world.pool.query('drop trigger refused on ops.asset_work; drop function public.refuse();')
  const active = async () => (await assetEventsOf(log, assetId)).length === 3
  await eventually('it is active', active, 90_000)
  await replica.stop()
  t.pass('it did not wait for 120 s')
})
