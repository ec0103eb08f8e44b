"""Mesos messages: generated protobuf modules (`*_pb2`), Mesos-flavoured JSON, RecordIO, libprocess message names. No I/O."""
