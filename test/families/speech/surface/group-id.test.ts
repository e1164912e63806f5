import t from 'tap'
import { asModel, startApp } from '../../../api/support/app.ts'

const { app } = await startApp()
t.teardown(() => app.close())

t.test('GroupId in the query of a GET is ignored', async (t) => {
  for (const path of [
    '/provB/v1/files/retrieve?file_id=1',
    '/provB/v1/files/retrieve_content?file_id=1',
    '/provB/v1/query/t2a_async_query_v2?task_id=1',
  ]) {
    const [without, withIt] = await Promise.all(
      [path, `${path}&GroupId=1823`].map((url) => app.inject({ url, headers: asModel })),
    )
    const shapeOf = (answer: typeof without) => [
      answer?.statusCode,
      answer?.json<{ base_resp?: object }>().base_resp,
    ]
    t.same(shapeOf(withIt), shapeOf(without), path)
    t.notMatch(withIt?.body, 'GroupId')
  }
})
