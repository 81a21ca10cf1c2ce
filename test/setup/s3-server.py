"""An S3 server for tests: OpenStack Swift with its S3 middleware in a single process, with objects in memory."""

import os
import sys

import eventlet
import eventlet.wsgi

eventlet.monkey_patch()

from swift.common import utils  # noqa: E402

utils.HASH_PATH_PREFIX = b'tests'
utils.HASH_PATH_SUFFIX = b'tests'
utils.validate_configuration = lambda: None

from swift.common.ring import RingBuilder  # noqa: E402
from swift.common.wsgi import loadapp  # noqa: E402

PROXY = """
[DEFAULT]
swift_dir = {folder}
[pipeline:main]
pipeline = catch_errors gatekeeper s3api tempauth slo proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
allow_account_management = true
max_file_size = 5368709122
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:gatekeeper]
use = egg:swift#gatekeeper
[filter:s3api]
use = egg:swift#s3api
location = eu-test-1
storage_domain = s3.test
s3_acl = false
[filter:tempauth]
use = egg:swift#tempauth
user_{account}_{user} = {secret} .admin
[filter:slo]
use = egg:swift#slo
"""

STORE = """
[DEFAULT]
swift_dir = {folder}
devices = {folder}/devices
mount_check = false
disable_fallocate = true
[pipeline:main]
pipeline = {kind}-server
[app:{kind}-server]
use = egg:swift#{name}
"""


class Cache:
    """The part of memcached that Swift uses, for a single process."""

    def __init__(self):
        self.values = {}

    def get(self, key, **_):
        return self.values.get(key)

    def set(self, key, value, **_):
        self.values[key] = value

    def delete(self, key, **_):
        self.values.pop(key, None)

    def get_multi(self, keys, *_, **__):
        return [self.values.get(key) for key in keys]

    def set_multi(self, mapping, *_, **__):
        self.values.update(mapping)

    def incr(self, key, delta=1, **_):
        self.values[key] = self.values.get(key, 0) + delta
        return self.values[key]


def with_cache(application, cache):
    def answer(environ, start_response):
        environ['swift.cache'] = cache
        return application(environ, start_response)
    return answer


def build_ring(folder, kind, port):
    builder = RingBuilder(4, 1, 0)
    builder.add_dev({'id': 0, 'region': 1, 'zone': 1, 'weight': 1, 'ip': '127.0.0.1', 'port': port, 'device': 'one'})
    builder.rebalance()
    builder.get_ring().save(os.path.join(folder, kind + '.ring.gz'))


def serve(folder, name, text, socket):
    path = os.path.join(folder, name + '.conf')
    with open(path, 'w') as file:
        file.write(text)
    application = with_cache(loadapp(path), Cache())
    log = open(os.path.join(folder, 'access.log'), 'a')
    eventlet.spawn_n(eventlet.wsgi.server, socket, application, log=log, debug=False)


def main():
    folder, account, user, secret = sys.argv[1:5]
    os.makedirs(os.path.join(folder, 'devices', 'one'))
    for kind, name in (('account', 'account'), ('container', 'container'), ('object', 'mem_object')):
        socket = eventlet.listen(('127.0.0.1', 0))
        build_ring(folder, kind, socket.getsockname()[1])
        serve(folder, kind, STORE.format(folder=folder, kind=kind, name=name), socket)
    socket = eventlet.listen(('127.0.0.1', 0))
    serve(folder, 'proxy', PROXY.format(folder=folder, account=account, user=user, secret=secret), socket)
    print('port %d' % socket.getsockname()[1], flush=True)
    # The test holds the other end of stdin, so this process ends however the test dies.
    eventlet.tpool.execute(sys.stdin.read)
    os._exit(0)


main()
